package metrics

import (
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// prefix begins the name of every metric that only this program has.
const prefix = "ionos_endpointslice_"

// Type is what Prometheus calls the type of a metric.
type Type string

// The types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Family is one metric with all its label values.
type Family struct {
	Name   string
	Type   Type
	Labels []Label
	// Help says what the value is, with its unit.
	Help string

	// buckets are a histogram's upper bounds in seconds.
	buckets []float64
	// sample reads the values at the moment of a scrape. It is nil where they
	// are counted as things happen.
	sample func(m snapshot, emit emit)
}

// Label is one label of a metric.
type Label struct {
	Name string
	// Values are all values it can have; nil where Note describes them.
	Values []string
	Note   string
}

// snapshot is what a scrape sees.
type snapshot struct {
	Options

	*exposition
}

// emit hands on one value; the label values are in the order of the labels.
type emit func(value float64, labels ...string)

// number is what values are counted in.
type number interface{ int | uint64 | float64 }

// one is a family of one value.
func one[N number](name string, kind Type, help string, value func(snapshot) N) Family {
	return Family{Name: prefix + name, Type: kind, Help: help, sample: func(m snapshot, emit emit) { emit(float64(value(m))) }}
}

// each is a family with a value for each value of a label with a closed list.
func each[V any, N number](name string, kind Type, by label[V], help string, value func(snapshot, V) N) Family {
	return Family{Name: prefix + name, Type: kind, Labels: []Label{by.closed()}, Help: help, sample: forEach(by, value)}
}

// forEach emits a value of something for each value of a label.
func forEach[S, V any, N number](by label[V], value func(S, V) N) func(S, emit) {
	return func(of S, emit emit) {
		for _, v := range by.values {
			emit(float64(value(of, v)), fmt.Sprint(v))
		}
	}
}

// label is one with a closed list of values.
type label[V any] struct {
	name   string
	values []V
}

func (l label[V]) closed() Label { return Label{Name: l.name, Values: spell(l.values)} }

// spell returns the words of values.
func spell[V any](values []V) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return words
}

// labelNames returns the names of the labels.
func (f Family) labelNames() []string {
	names := make([]string, len(f.Labels))
	for i, l := range f.Labels {
		names[i] = l.Name
	}
	return names
}

// newCounter makes the counters of the family. Those of every combination of
// closed label values are there from the start.
func (f Family) newCounter() *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, f.labelNames())
	for _, values := range f.combinations() {
		vec.WithLabelValues(values...)
	}
	return vec
}

// newHistogram makes the histograms of the family. One without labels is there from the start.
func (f Family) newHistogram() *prometheus.HistogramVec {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: f.Name, Help: f.Help, Buckets: f.buckets}, f.labelNames())
	if len(f.Labels) == 0 {
		vec.WithLabelValues()
	}
	return vec
}

// combinations returns every combination of the label values, none where a label
// is open or known only later.
func (f Family) combinations() [][]string {
	all := [][]string{{}}
	for _, l := range f.Labels {
		var longer [][]string
		for _, values := range all {
			for _, value := range l.Values {
				longer = append(longer, append(values[:len(values):len(values)], value))
			}
		}
		all = longer
	}
	return all
}

// boolValue is the value of a gauge that says yes or no.
func boolValue(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Values of the labels result and code.
const (
	success  = "success"
	failure  = "error"
	conflict = "conflict"
	other    = "other"
	noAnswer = "<error>" // what client-go calls it
)

// Families lists every metric of the program in the order of the reference. The
// collectors of Go and of the process come in addition.
func Families() []Family {
	return slices.Concat(
		processFamilies(), documentFamilies(), serviceFamilies(), targetFamilies(), poolReadFamilies(), poolPlacementFamilies(), poolRemovalFamilies(), poolEndpointFamilies(), poolHeldFamilies(), poolAccessFamilies(),
		measuredFamilies(), credentialFamilies(), requestFamilies(),
	)
}

// memberStates and reasons are closed lists.
func memberStates() []inventory.State {
	return []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}
}

func reasons() []inventory.Reason {
	docs := inventory.Reasons()
	names := make([]inventory.Reason, len(docs))
	for i, doc := range docs {
		names[i] = doc.Reason
	}
	return names
}
