package cli

import (
	"context"
	"log/slog"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

const (
	// expiryRepeat is the time between two such warnings, expiryLook between two
	// looks: the token of this moment is known only when it was used.
	expiryRepeat = 24 * time.Hour
	expiryLook   = time.Second
)

// warnOfToken warns that an IONOS token is about to expire.
func warnOfToken(ctx context.Context, log *slog.Logger, expiry func() (at time.Time, known bool)) {
	ends := func() (e kube.Expiry) {
		if at, known := expiry(); known {
			e.Ends = at
		}
		return e
	}
	warnOfExpiry(ctx, ends, func(at string) {
		log.Warn("the IONOS token expires soon; write a new one to its file, it is used without a restart; if IONOS_TOKEN holds the token, set IONOS_TOKEN and restart", "expires", at)
	})
}

// warnOfCredential warns that the credential of a cluster should have been
// renewed.
func warnOfCredential(ctx context.Context, log *slog.Logger, setting string, expiry func() kube.Expiry) {
	warnOfExpiry(ctx, expiry, func(at string) {
		log.Warn("a token or client certificate expires soon; write a new one to its file, it is used without a restart", "setting", setting, "expires", at)
	})
}

// warningOf returns what runs beside the source of a pool, and warns when one of its
// credentials is about to expire.
func (b *parts) warningOf(pool *v1alpha1.EndpointPool, made origin) func(context.Context) error {
	if made.cloud == nil && made.remote == nil {
		return made.run
	}
	setting := "SECURED_KUBECONFIG"
	log := b.log
	if b.config.Documents.Used() {
		setting = "spec.credentials=" + pool.Spec.Credentials
		log = log.With("pool", pool.Name)
	}
	var warnings []func(context.Context)
	if made.cloud != nil {
		warnings = append(warnings, func(ctx context.Context) { warnOfToken(ctx, log, made.cloud.TokenExpiry) })
	}
	if made.remote != nil {
		warnings = append(warnings, func(ctx context.Context) { warnOfCredential(ctx, log, setting, made.remote.Expiry) })
	}
	return func(ctx context.Context) error { return beside(ctx, made.run, warnings...) }
}

// warnOfExpiry warns until ctx ends, once a day at the most, of what expires soon:
// tokens that live an hour by design are not worth a line each.
func warnOfExpiry(ctx context.Context, expiry func() kube.Expiry, warn func(at string)) {
	look := time.NewTicker(expiryLook)
	defer look.Stop()
	var said time.Time
	for {
		e := expiry()
		if due := said.IsZero() || time.Since(said) >= expiryRepeat; due && e.Soon(time.Now()) {
			said = time.Now()
			warn(e.Ends.UTC().Format(time.RFC3339))
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
