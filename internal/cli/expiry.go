package cli

import (
	"context"
	"log/slog"
	"time"
)

const (
	// expiryNotice is how long before its end a token is warned of.
	expiryNotice = 14 * 24 * time.Hour
	// expiryRepeat is the time between two such warnings, expiryLook between two
	// looks: the token of this moment is known only when it was used.
	expiryRepeat = 24 * time.Hour
	expiryLook   = time.Second
)

// warnOfExpiry says until ctx ends, once a day at the most, that the token is
// about to expire: tokens that live an hour by design are not worth a line each.
func warnOfExpiry(ctx context.Context, log *slog.Logger, expiry func() (time.Time, bool)) {
	look := time.NewTicker(expiryLook)
	defer look.Stop()
	var said time.Time
	for {
		at, known := expiry()
		due := said.IsZero() || time.Since(said) >= expiryRepeat
		if known && due && time.Until(at) < expiryNotice {
			said = time.Now()
			log.Warn("the IONOS token expires soon; write a new one to the file that IONOS_TOKEN_FILE names, it is used without a restart, or set IONOS_TOKEN and restart", "expires", at.UTC().Format(time.RFC3339))
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
