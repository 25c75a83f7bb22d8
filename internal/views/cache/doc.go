// Package cache holds the endpoint views as they are, and enough of what they
// were to tell every reader each change. In: Services and slices as watches tell of
// them, with their revisions. Out: lists, and readers that begin with everything or
// go on from a token.
//
// A reader is a number, that of the last change it took. It gets the newest state of
// each object that changed since, so a slow reader costs nothing and delays nothing:
// neither the join nor another reader. What is gone is remembered for ten minutes.
// One that was away for longer is told that its history ended.
//
// A token is the revisions of the watches, so that every replica can go on from it.
// A replica refuses a token if it cannot say for certain what was gone by then. It
// gives none while what it shows may be no state of the server.
//
//	event older than what is known        no effect
//	missing in a new complete list        kept until the server confirms that it is gone
//	one of those is there                 the list was wrong: another one is asked for
//	a list from before what is known      refused once, accepted the second time
//
// It makes no requests: package watch does.
package cache
