// Package docs holds the documentation to the program: what the pages name
// exists, what they link to is there, and the commands of README and tutorial
// do what they say, as far as that can be tried on one machine.
//
// A command block that cannot be run here has a comment before it that says why:
//
//	<!-- not run here: needs an IONOS Cloud contract -->
//
// and one that ends with a daemon in the foreground another:
//
//	<!-- runs until stopped -->
//	<!-- runs until stopped: http://127.0.0.1:8083/readyz -->
//
// It contains tests only.
package docs
