// Package hack runs the scripts of the folder hack, with bash, as an operator
// would: against a real API server, the fake of the IONOS Cloud API and a fake of
// docker; the good case and each thing that may be missing. Of .ci/run it tries the
// end. It contains tests only.
package hack
