module github.com/ablmnzde/ionoscloud-endpointslice-controller

go 1.26.0
