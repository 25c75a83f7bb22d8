package metrics

import (
	"runtime"
	"time"
)

// processFamilies tell of the process itself, and of its Events.
func processFamilies() []Family {
	return []Family{
		{
			Name: prefix + "build_info", Type: Gauge,
			Labels: []Label{{Name: "version", Note: "that of the program"}, {Name: "goversion", Note: "that of Go"}},
			Help:   "Always 1; the labels say what runs.",
			sample: func(m snapshot, emit emit) { emit(1, m.Version, runtime.Version()) },
		},
		one("leader", Gauge, "1 if this process reads, checks and writes, also without an election; 0 on a standby.",
			func(m snapshot) float64 { return boolValue(m.Leading()) }),
		one("loop_age_seconds", Gauge, "Seconds since the loop last ran; 0 on a standby.",
			func(m snapshot) float64 { return m.LoopAge().Seconds() }),
		each("events_total", Counter, label[string]{"result", []string{"delivered", "dropped", failure}},
			"Events on the Service, by result: accepted by the API server (delivered), not sent because too many were waiting (dropped), or refused or lost (error).",
			func(m snapshot, result string) uint64 {
				events := m.Events()
				return map[string]uint64{"delivered": events.Delivered, "dropped": events.Dropped, failure: events.Failed}[result]
			}),
	}
}

// credentialFamilies tell of the access to the local cluster.
func credentialFamilies() []Family {
	local := func(name, help string, value func(Credential) float64) Family {
		return Family{Name: prefix + name, Type: Gauge, Help: help, sample: func(m snapshot, emit emit) {
			if c := m.LocalCredential(); !c.Expires.IsZero() {
				emit(value(c))
			}
		}}
	}
	return []Family{
		local("local_credential_expiry_timestamp_seconds",
			"Unix time at which the token or client certificate of KUBECONFIG, or of the Pod's ServiceAccount, that is in use expires, whichever is sooner; absent if that is not known.",
			Credential.expiry),
		local("local_credential_lifetime_seconds",
			"Seconds for which that token or client certificate is valid in all, from its issue to its expiry; +Inf if it does not say, absent if its expiry is not known.",
			Credential.lifetime),
	}
}

// unix is a time as Prometheus writes it, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
