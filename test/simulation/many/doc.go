// Package many simulates one process that fills many Services from several pools.
//
// A world of pools with nodes, Services, documents in files and an API server in memory
// is in trouble at random, in the time of testing/synctest: nodes die and are replaced,
// sources fail or lie, documents become invalid, vanish and return, pools are renamed, split
// and removed together with their bindings, bindings move, in every fourth world in dozens, and
// get, change and lose adopt, writes fail, the process is restarted. The rest is the real thing, from the text of the documents to
// the slices. After each quarter of a second the promises are checked:
//
//   - the two sentences of controllertest.Oracle;
//   - a backend that works is not taken away from a Service whose documents go on to name it;
//   - nothing is published or checked outside of the pool and its ports;
//   - trouble of one namespace or pool does not reach another's Services;
//   - when all is well again, the slices are right, and writing stops.
//
// Without flags a few seeds pass; make simulate lets more pass, and -seed repeats one. A seed mostly
// replays: what is drawn depends on the seed, on what it is for and on the time, and one goroutine
// runs at a time. Which of two timers of one instant goes off first, as where the drain periods of
// two pools end together, and which of two events of one instant a loop of the program takes first,
// is Go's choice: in worlds with dozens of Services that makes a difference in every second run.
package many
