package controller

import (
	"maps"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

// crowded notes the namespaces of which not all is kept.
func (t *teller) crowded(sights []assign.Sight) {
	t.crowds = make(map[string]error)
	for _, sight := range sights {
		if sight.Crowded {
			t.crowds[sight.Namespace] = sight.Err
		}
	}
}

// tellCrowds tells of them.
func (t *teller) tellCrowds(holds map[subject]bool) {
	for _, namespace := range slices.Sorted(maps.Keys(t.crowds)) {
		err := t.crowds[namespace]
		of := subject{kind: "crowded namespace", namespace: namespace}
		holds[of] = true
		if t.news(of, err.Error()) {
			t.log.Error("not all Services of a namespace are known, so none of its Services vanishes", "namespace", namespace, "error", err)
		}
	}
}
