package settings_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

func TestLoadViewsReportsEveryMistakeWithItsRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		want    []string // the variables of all mistakes, in order
	}{
		"nothing set":              {nil, nil},
		"everything set":           {[]string{"VIEWS_ADDRESS=0.0.0.0:8443", "VIEWS_TLS_CERT_FILE=/c", "VIEWS_TLS_KEY_FILE=/k", "VIEWS_CLIENT_CA_FILE=/a", "VIEWS_IDENTITIES_FILE=/i", "VIEWS_NAMESPACES=a, b", "VIEWS_ANNOTATION=x/y"}, nil},
		"others can reach it":      {[]string{"VIEWS_ADDRESS=0.0.0.0:8082"}, []string{"VIEWS_ADDRESS", "VIEWS_ADDRESS"}},
		"no identities":            {[]string{"VIEWS_ADDRESS=0.0.0.0:8082", "VIEWS_TLS_CERT_FILE=/c", "VIEWS_TLS_KEY_FILE=/k"}, []string{"VIEWS_ADDRESS"}},
		"no TLS":                   {[]string{"VIEWS_ADDRESS=0.0.0.0:8082", "VIEWS_IDENTITIES_FILE=/i"}, []string{"VIEWS_ADDRESS"}},
		"a key alone":              {[]string{"VIEWS_TLS_KEY_FILE=/k"}, []string{"VIEWS_TLS_KEY_FILE"}},
		"a certificate alone":      {[]string{"VIEWS_TLS_CERT_FILE=/c"}, []string{"VIEWS_TLS_CERT_FILE"}},
		"an authority without TLS": {[]string{"VIEWS_CLIENT_CA_FILE=/a", "VIEWS_IDENTITIES_FILE=/i"}, []string{"VIEWS_CLIENT_CA_FILE"}},
		"names that are none":      {[]string{"VIEWS_NAMESPACES=Shop,", "VIEWS_ANNOTATION=a b"}, []string{"VIEWS_NAMESPACES", "VIEWS_NAMESPACES", "VIEWS_ANNOTATION"}},
		"bounds":                   {[]string{"VIEWS_MAX_CLIENTS=0"}, []string{"VIEWS_MAX_CLIENTS"}},
		"xDS":                      {[]string{"XDS_ADDRESS=127.0.0.1:0", "XDS_FLEETS_FILE=/f"}, nil},
		"xDS for others":           {[]string{"XDS_ADDRESS=0.0.0.0:18000"}, []string{"XDS_ADDRESS"}},
		"xDS without an authority": {[]string{"XDS_ADDRESS=0.0.0.0:18000", "VIEWS_TLS_CERT_FILE=/c", "VIEWS_TLS_KEY_FILE=/k"}, []string{"XDS_ADDRESS"}},
		"xDS at a taken address":   {[]string{"XDS_ADDRESS=127.0.0.1:8082"}, []string{"XDS_ADDRESS"}},
		"metrics at a taken one":   {[]string{"VIEWS_ADDRESS=127.0.0.1:8083"}, []string{"METRICS_ADDRESS"}},
		"metrics at each address":  {[]string{"METRICS_ADDRESS=0.0.0.0:8082"}, []string{"METRICS_ADDRESS"}},
		"xDS where metrics are":    {[]string{"METRICS_ADDRESS=0.0.0.0:9000", "XDS_ADDRESS=127.0.0.1:9000"}, []string{"XDS_ADDRESS"}},
		"ports of their own":       {[]string{"METRICS_ADDRESS=0.0.0.0:9000", "VIEWS_ADDRESS=127.0.0.1:0", "XDS_ADDRESS=127.0.0.1:0"}, nil},
		"fleets without xDS":       {[]string{"XDS_FLEETS_FILE=/f"}, []string{"XDS_FLEETS_FILE"}},
		"a misspelling":            {[]string{"VIEWS_NAMESPACE=shop"}, []string{"VIEWS_NAMESPACE"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := settings.LoadViews(c.environ)
			var mistakes settings.Mistakes
			errors.As(err, &mistakes)
			var got []string
			for _, m := range mistakes {
				if m.Remedy == "" {
					t.Errorf("%v has no remedy", m)
				}
				got = append(got, m.Variable)
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("got %v, want mistakes of %v", err, c.want)
			}
		})
	}
}

func TestOurAnnotationHasToBeTrueAndAnyOtherOnlyThere(t *testing.T) {
	other := settings.ViewsCluster{Annotation: "dcontroller.io/endpointslice-controller-enabled"}
	ours := settings.ViewsCluster{Annotation: settings.OwnAnnotation}
	for _, c := range []struct {
		cluster     settings.ViewsCluster
		annotations map[string]string
		want        bool
	}{
		{ours, nil, false}, {ours, map[string]string{settings.OwnAnnotation: "true"}, true},
		{ours, map[string]string{settings.OwnAnnotation: "false"}, false}, {ours, map[string]string{settings.OwnAnnotation: ""}, false},
		{other, map[string]string{other.Annotation: "false"}, true}, {other, map[string]string{other.Annotation: ""}, true},
		{other, map[string]string{settings.OwnAnnotation: "true"}, false},
	} {
		if got := c.cluster.Selects(c.annotations); got != c.want {
			t.Errorf("%s of %v: got %t, want %t", c.cluster.Annotation, c.annotations, got, c.want)
		}
	}
}
