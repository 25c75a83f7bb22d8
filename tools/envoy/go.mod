// Fetches Envoy, which the laboratory sends requests through. Envoy is written in C++
// and takes hours to compile, so it is the one tool that comes as a binary: main.go
// pins its version and hash.
module github.com/ablmnzde/ionoscloud-endpointslice-controller/tools/envoy

go 1.26.0
