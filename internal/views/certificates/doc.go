// Package certificates makes the certificates by which Envoys and endpoint-views know each
// other. In: what Secrets hold, who is to have a certificate, the time. Out: what the
// Secrets are to hold.
//
// There may be several authorities at a time. A new one is trusted for a day before it
// signs, and an old one is trusted until it expires: so a rotation ends no connection, whenever
// the files of a Pod follow their Secret within that day.
//
// Renew alone asks an API server: it changes no Secret that it has not made, and deletes none.
// No key is in an error. Everything else is values.
package certificates
