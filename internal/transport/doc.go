// Package transport has what both programs need of connections with other programs: how many of
// them may be open, through which proxy they go, for how long a server asks to be left
// alone and a token is valid, and how texts that others wrote are shown: short, on one
// line, and without secrets; and how a goroutine tells another that there is something to
// read, and for how long it stands still. In: connections, headers, tokens, texts and errors.
// Out: bounds, times, and texts that are cut and masked. It opens no connection and never
// decides what is shown.
package transport
