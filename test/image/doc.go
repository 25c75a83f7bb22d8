// Package image carries out the Dockerfile where no container can run: it reads
// the file, runs the build stages' commands in a clean copy of the repository,
// for each platform, and looks at what the images would hold.
//
// It is for tests only.
package image
