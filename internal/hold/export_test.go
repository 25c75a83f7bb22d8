package hold

// MaxConnectionsOf is MaxConnections with a limit of descriptors.
var MaxConnectionsOf = maxConnections
