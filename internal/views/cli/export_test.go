package cli

// Logger is Program.logger.
var Logger = Program.logger
