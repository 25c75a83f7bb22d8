// Package lab is a laboratory for one question: do the users' requests arrive?
// It has real API servers, workers that are network namespaces with HTTP
// servers, clients behind a real kube-proxy, and the built daemon between them;
// what it lacks is a cloud, and a kubelet where it has no Pods. `make lab` runs its scenarios.
//
// Everything lives in a network and a mount namespace of the test binary and
// vanishes with it. All but this file carries the build tag lab.
//
//	               mgmt 10.78.0.0/16
//	  ┌───────────────┬──────────────┬─────────────┐
//	API servers    kube-proxy      daemon
//	fake IONOS     ┌─client─┐    ┌─prober─┐     one prober per Target
//	               └───┬────┘    └───┬────┘
//	  ┌───────────────┴──────────────┴─────────────┐
//	  │            data 10.77.0.0/16               │
//	┌─┴──────┐ ┌────────┐ ┌────────┐
//	│ worker │ │ worker │ │ worker │              one namespace each
//	└────────┘ └────────┘ └────────┘
//
// A scenario reads like this:
//
//	w := lab.Start(t)                              // once for many scenarios
//	x := w.Target(t, lab.Options{Source: "file"})  // Service, workers, daemon
//	x.Begin(500)                                   // requests a second
//	spare := x.AddWorker()                         // a machine starts
//	x.Join(spare)                                  // the inventory lists it
//	x.Leave(x.Workers()[0])                        // ... announces that one leaves
//	x.Mark("crash"); spare.Kill()                  // for the picture
//	x.End()
//	x.WantNoneLost()
//	x.Report("scenario", "what it shows")
//
// A [Platform] is one daemon with documents: pools, and Services that choose them, each
// of which is a [Target] for requests, and a [Pool] is where workers join and leave.
//
// A [Cluster] is a remote cluster with both ends of the way: nodes with a real kube-proxy
// each, and Pods behind a Service of type NodePort, whose EndpointSlice is written as
// Kubernetes writes it. Schedule, Delete and Rollout move its Pods; a [Node] has Cordon,
// NotReady, StartProxy (in another mode) and the faults of a worker. Forget leaves every Pod
// out of the slice. [Cluster.See] says how long endpoints that take no connection stayed ready.
//
// A [Fleet] is the built endpoint-views and a real Envoy that it feeds, on machines of their
// own: [Fleet.Before] is a [Target] as the clients of the Envoy see it, beside those of
// kube-proxy, and [Fleet.Failed] what the Envoy's access log has.
//
// Tests that need little of the machine run beside each other, each with a world of its own: the
// worlds share both networks, and nothing else.
//
// With [StartWithPods] the local cluster has a controller manager and a kubelet of the
// laboratory's own: a Pod is a machine, its containers are processes. [Views] is then what
// deploy/fleet installs, and [Envoys] an object of kind Envoy with its Pods before a
// [Target]: [Envoys.New] and [Envoys.Kept] are the target as clients of the Pods see it.
//
// Faults of a [Worker]: Say (ok, refuse, hang, status 503, slow 300ms, idle 5s, reset 2s, keep 5s, single), Pause and
// Resume, Stop (graceful), Kill, Silence (drops packets: both, in, out) and Hear, Unplug and
// Plug. Of a [Daemon], also the server of a fleet: Kill, Stop, Start, Signal, and its environment. Of a
// [Target]: CutProber, MendProber. Of a [World]: Local and Remote are control
// planes with Stop, Start, Pause and Resume; [Target].Cloud is the fake of the
// IONOS API with its faults.
//
// With LAB_RESULTS naming a folder, each Report writes its figures there;
// test/lab/report makes the page of them.
package lab
