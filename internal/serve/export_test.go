package serve

// What the tests of this package look at.
var (
	PublishedOf  = published
	NamespacesOf = namespaces
)

// NewSource returns the source of a pool, and what runs beside it.
var NewSource = newSource

// Run is what has to run beside a source.
var Run = (*source).run
