package cli

// WarnOfExpiry is exported for its test, in which weeks pass.
var WarnOfExpiry = warnOfExpiry
