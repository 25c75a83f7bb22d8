package settings

import "slices"

// Config is the whole configuration. Load is the only way to get a valid one. Loading,
// showing and documenting follow the order of its parts.
type Config struct {
	Source    Source
	Documents Documents
	Static    Static
	File      File
	Command   Command
	Secured   SecuredCluster
	IONOS     IONOS
	Target    Target
	Health    Health
	Guard     Guard
	Store     Store
	Leader    Leader
	Listen    Listen
	Log       Log
	Run       Run

	// origins says for each variable that is not at its default where its
	// value comes from.
	origins map[string]Origin
	// warnings are about variables that have no effect.
	warnings Mistakes
}

// Warnings returns the variables that look like ours and are not, but may well
// be another program's, in alphabetical order.
func (c Config) Warnings() []Mistake { return slices.Clone(c.warnings) }
