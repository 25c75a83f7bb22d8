// Package naming knows the settings that messages name, and how the reader of a
// message spells them.
//
// A message is composed once and shown in many places, and one verdict is shared
// by targets that are configured in different ways. So every message names a
// setting by its variable (HEALTH_CHECK_FALL=3), and the place that shows it to
// the reader of one target passes it through Names.Of, which puts the object that
// decided, and its field or annotation, in the variable's place.
//
// In comes a text, out goes a text. The package decides nothing, reads nothing
// and knows no value of a setting.
package naming
