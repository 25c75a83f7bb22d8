package v1alpha1

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The defaults of the fields.
const (
	DefaultPollInterval         = 30 * time.Second
	DefaultReleaseAfter         = 10 * time.Minute
	DefaultMaxServices          = 100
	DefaultMaxChecks            = 2000
	DefaultPath                 = "/"
	DefaultExpectedStatus       = "200-399"
	DefaultInterval             = 2 * time.Second
	DefaultTimeout              = time.Second
	DefaultRise                 = 2
	DefaultFall                 = 3
	DefaultMaxRemovalPercent    = 50
	DefaultMaxSilentPercent     = 50
	DefaultEmptyResultThreshold = 10
	DefaultFailOpen             = true
	DefaultDrainPeriod          = 30 * time.Second
)

// SetDefaults fills in what a pool leaves out. It never changes what is set.
func (p *EndpointPool) SetDefaults() {
	s := &p.Spec
	unset(&s.PollInterval, metav1.Duration{Duration: DefaultPollInterval})
	unset(&s.ReleaseAfter, metav1.Duration{Duration: DefaultReleaseAfter})
	for i := range s.Allow {
		unset(&s.Allow[i].MaxServices, DefaultMaxServices)
		unset(&s.Allow[i].MaxChecks, DefaultMaxChecks)
	}
	s.HealthCheck.setDefaults()
	s.Guard.setDefaults()
}

func (c *PoolHealthCheck) setDefaults() {
	defaultRequest(&c.Mode, &c.Path, &c.ExpectedStatus)
	unset(&c.Interval, metav1.Duration{Duration: DefaultInterval})
	unset(&c.Timeout, metav1.Duration{Duration: min(DefaultTimeout, c.Interval.Duration)})
	unset(&c.Rise, DefaultRise)
	unset(&c.Fall, DefaultFall)
	unset(&c.HoldConnection, false)
	unset(&c.TLSInsecure, false)
}

func (g *PoolGuard) setDefaults() {
	unset(&g.MaxRemovalPercent, DefaultMaxRemovalPercent)
	unset(&g.MaxSilentPercent, DefaultMaxSilentPercent)
	unset(&g.EmptyResultThreshold, DefaultEmptyResultThreshold)
	unset(&g.FailOpen, DefaultFailOpen)
	unset(&g.DrainPeriod, metav1.Duration{Duration: DefaultDrainPeriod})
}

// SetDefaults fills in what a binding leaves out. It never changes what is set.
func (b *EndpointBinding) SetDefaults() {
	b.Spec.Mode = cmp.Or(b.Spec.Mode, BindingPublish)
	for i := range b.Spec.Ports {
		port := &b.Spec.Ports[i]
		port.Protocol = cmp.Or(port.Protocol, ProtocolTCP)
	}
	if c := b.Spec.HealthCheck; c != nil {
		defaultRequest(&c.Mode, &c.Path, &c.ExpectedStatus)
	}
}

// defaultRequest fills in the mode, and what only an HTTP request has.
func defaultRequest(mode *HealthCheckMode, path, status *string) {
	*mode = cmp.Or(*mode, HealthCheckTCP)
	if *mode == HealthCheckHTTP || *mode == HealthCheckHTTPS {
		*path, *status = cmp.Or(*path, DefaultPath), cmp.Or(*status, DefaultExpectedStatus)
	}
}

// unset gives a field a value unless it has one.
func unset[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
