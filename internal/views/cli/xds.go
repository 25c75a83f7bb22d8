package cli

import (
	"errors"
	"fmt"
	"net"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// buildXDS makes the server of xDS from the configuration, if there is to be one.
func (p Program) buildXDS(s *serveParts, c settings.Views, identities *stream.Identities) error {
	if !c.XDS.On() {
		return nil
	}
	options := xds.Options{
		Address: c.XDS.Address, Cache: s.source.Cache(), Blind: s.source.Blind, Settings: xdsSettings(c.XDS), Logger: s.log, Annotation: c.Cluster.Annotation,
		MostClients: c.XDS.MostClients, MostOfOne: c.XDS.MostOfOne,
		Listening:  func(net.Addr) { s.listening.Store(true) },
		Namespaces: identities.Namespaces,
	}
	if files := tlsFiles(c); files.CertificateFile != "" {
		options.TLS, options.TrustDomain, options.Accepts = files.Current(stream.Strict), files.TrustDomain, s.server.Accepts
	}
	fleets, err := p.fleets(c, s)
	if err != nil {
		return err
	}
	options.Fleets, s.fleets = fleets, fleets.Problem
	s.xds, err = xds.New(options)
	return err
}

// opens says which listener is not open yet. That of xDS opens after the first join.
func (s *serveParts) opens() error {
	if s.xds == nil || s.listening.Load() {
		return nil
	}
	if err := s.objects.Problem(); err != nil {
		return fmt.Errorf("xDS does not listen yet: %w", err)
	}
	return errors.New("xDS does not listen yet")
}

// tlsFiles are the files of the certificates.
func tlsFiles(c settings.Views) stream.TLS {
	return stream.TLS{CertificateFile: c.Stream.Certificate, KeyFile: c.Stream.Key, ClientCAFile: c.Stream.ClientCA, TrustDomain: c.Stream.TrustDomain}
}

// xdsSettings are how proxies treat requests. The configuration bounds each number.
func xdsSettings(c settings.ViewsXDS) envoyconfig.Settings {
	return envoyconfig.Settings{
		ConnectTimeout: c.ConnectTimeout, IdleTimeout: c.IdleTimeout, RequestTimeout: c.RequestTimeout, TryTimeout: c.TryTimeout,
		StreamIdleTimeout: c.StreamIdleTimeout, Retries: uint32(c.Retries), RetryGatewayErrors: c.RetryGatewayErrors, BufferBytes: uint32(c.BufferBytes),
		EjectAfter: uint32(c.EjectAfter), EjectionTime: c.EjectionTime, MaxEjectionPercent: uint32(c.MaxEjectionPercent),
		PanicPercent: uint32(c.PanicPercent), MaxRequests: uint32(c.MaxRequests),
	}
}

// proxies are the clients of xDS as the server of the views shows them.
func (s *serveParts) proxies() map[string]any { return map[string]any{"streams": s.xds.Streams()} }

// followed is how far the proxies of fleets follow, and what becomes of the objects.
func (s *serveParts) followed() map[string]any {
	return map[string]any{"streams": s.xds.Following(), "objects": s.xds.Objects()}
}
