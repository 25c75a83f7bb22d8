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
		{
			Name: prefix + "leader", Type: Gauge,
			Help:   "1 if this process reads, checks and writes, also without an election; 0 on a standby.",
			sample: func(m snapshot, emit emit) { emit(boolValue(m.Leading())) },
		},
		{
			Name: prefix + "loop_age_seconds", Type: Gauge,
			Help:   "Seconds since the loop last ran; 0 on a standby.",
			sample: func(m snapshot, emit emit) { emit(m.LoopAge().Seconds()) },
		},
		{
			Name: prefix + "events_total", Type: Counter, Labels: label("result", "delivered", "dropped", failure),
			Help: "Events on the Service, by result: accepted by the API server (delivered), not sent because too many were waiting (dropped), or refused or lost (error).",
			sample: func(m snapshot, emit emit) {
				events := m.Events()
				emit(float64(events.Delivered), "delivered")
				emit(float64(events.Dropped), "dropped")
				emit(float64(events.Failed), failure)
			},
		},
	}
}

// credentialFamilies tell of the access to the local cluster.
func credentialFamilies() []Family {
	return []Family{
		{
			Name: prefix + "local_credential_expiry_timestamp_seconds", Type: Gauge,
			Help: "Unix time at which the token or client certificate of KUBECONFIG, or of the Pod's ServiceAccount, that is in use expires, whichever is sooner; absent if that is not known.",
			sample: func(m snapshot, emit emit) {
				if c := m.LocalCredential(); !c.Expires.IsZero() {
					emit(unix(c.Expires))
				}
			},
		},
		{
			Name: prefix + "local_credential_lifetime_seconds", Type: Gauge,
			Help: "Seconds for which that token or client certificate is valid in all, from its issue to its expiry; +Inf if it does not say, absent if its expiry is not known.",
			sample: func(m snapshot, emit emit) {
				if c := m.LocalCredential(); !c.Expires.IsZero() {
					emit(c.lifetime())
				}
			},
		},
	}
}

// requestFamilies tell of HTTP requests, under the name that client-go gives them.
func requestFamilies() []Family {
	return []Family{{
		Name: requestsTotal, Type: Counter,
		Labels: []Label{
			{Name: "client", Values: texts([]Client{ClientStore, ClientSource, ClientLease, ClientEvents, ClientDocuments})},
			{Name: "code", Note: "the status of the answer, `4xx` and the like for one that HTTP does not define, `<error>` where there was no answer"},
			{Name: "method", Note: "the method of HTTP"},
		},
		Help: "HTTP requests, by the part of the program that sent them, by status and method; a watch is one request.",
	}}
}

// unix is a time as Prometheus writes it, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
