// Package streams asks each replica of endpoint-views what the Pods of fleets said to what
// they were sent. In: the address of endpoint-views. Out: the streams of each fleet, and a
// call for each fleet of which something is new.
package streams
