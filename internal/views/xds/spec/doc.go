// Package spec reads what the proxies of a fleet are to do. In: an object of kind Envoy, or
// the file of fleets, which has the same listeners. Out: the listeners, or every mistake
// with its rule and remedy.
//
// It never guesses: of a fleet with a mistake nothing counts. What the API server refuses
// is refused here, too, because the definition of the kind may be an older one, and a file
// has none.
package spec
