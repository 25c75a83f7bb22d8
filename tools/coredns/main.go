// Command coredns is CoreDNS with the plugins that the tests use, out of fifty.
// This is the way that CoreDNS documents for a selection of plugins; all of them
// would compile the SDKs of three clouds, which nothing here asks for.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	dnsserver.Directives = []string{"health", "ready", "errors", "kubernetes"} // in CoreDNS's own order
	coremain.Run()
}
