// Package controllertest is the engine of package controller for one Service and one pool of variables,
// as tests and the simulation drive it: scripted sources, checks and stores come in, and a
// Status of what the loops saw and decided goes out. No program is linked with it.
package controllertest
