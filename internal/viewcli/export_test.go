package viewcli

// Logger is Program.logger.
var Logger = Program.logger
