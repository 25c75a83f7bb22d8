package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// formName is the names alone.
const formName commandline.Format = "name"

// mostAddresses is how many addresses of a port are shown where not all are wanted.
const mostAddresses = 3

// printer writes objects in the form asked for.
type printer struct {
	out                       io.Writer
	form                      commandline.Format
	gather, namespaced, watch bool

	table  *tabwriter.Writer
	headed bool // the table has its head
	// widths are those of the columns of a watch. Its rows come one at a time, so columns
	// cannot wait for each other; they only grow.
	widths []int
}

// object is what a row is made of, of both kinds.
type object struct {
	Kind     string         `json:"kind"`
	Metadata views.Metadata `json:"metadata"`
	Spec     struct {
		views.ServicePort
		views.Endpoint

		Endpoints []views.Endpoint `json:"endpoints"`
	} `json:"spec"`
}

// list prints a list.
func (p *printer) list(objects []json.RawMessage) error {
	if p.form == commandline.JSON || p.form == commandline.YAML {
		kind := views.KindEndpointView
		if p.gather {
			kind = views.KindServicePortView
		}
		return p.form.Print(p.out, map[string]any{"apiVersion": views.APIVersion, "kind": kind + "List", "items": objects}, "")
	}
	for _, one := range objects {
		if err := p.line("", one); err != nil {
			return err
		}
	}
	return p.table.Flush()
}

// event prints one event of a watch.
func (p *printer) event(kind views.EventType, one []byte) error {
	if p.form == commandline.JSON || p.form == commandline.YAML {
		return p.form.PrintNext(p.out, struct {
			Type   views.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}{kind, one})
	}
	if err := p.line(kind, one); err != nil {
		return err
	}
	return p.table.Flush()
}

// line prints one object as a row, or as a name.
func (p *printer) line(kind views.EventType, one []byte) error {
	var o object
	if err := json.Unmarshal(one, &o); err != nil {
		return fmt.Errorf("read a view: %w", err)
	}
	if p.form == formName {
		name := strings.ToLower(o.Kind) + "/" + o.Metadata.Name
		if p.watch {
			name = string(kind) + " " + name
		}
		_, err := fmt.Fprintln(p.out, transport.Printable(name))
		return err
	}
	columns := p.columns(o)
	names, cells := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], cells[i] = c[0], transport.Printable(cmp.Or(c[1], "-"))
	}
	if p.watch {
		names, cells = append([]string{"EVENT"}, names...), append([]string{string(kind)}, cells...)
		p.widen(cells)
		p.widen(names)
	}
	if !p.headed {
		p.headed = true
		fmt.Fprintln(p.table, strings.Join(names, "\t"))
	}
	_, err := fmt.Fprintln(p.table, strings.Join(cells, "\t"))
	return err
}

// leastWidth is that of a column of a watch, before the space to the next one.
const leastWidth = 11

// widen fills the cells of a watch up to the width of their columns.
func (p *printer) widen(cells []string) {
	if p.widths == nil {
		p.widths = make([]int, len(cells))
	}
	for i, cell := range cells[:len(cells)-1] {
		p.widths[i] = max(p.widths[i], leastWidth, utf8.RuneCountInString(cell))
		cells[i] = fmt.Sprintf("%-*s", p.widths[i], cell)
	}
}

// columns are the names and cells of a row.
func (p *printer) columns(o object) [][2]string {
	var columns [][2]string
	if p.namespaced {
		columns = append(columns, [2]string{"NAMESPACE", o.Metadata.Namespace})
	}
	s := o.Spec
	port := strconv.Itoa(int(s.Port))
	if s.PortName != "" {
		port = s.PortName + ":" + port
	}
	columns = append(columns, [2]string{"SERVICE", s.ServiceName}, [2]string{"PORT", port + "/" + s.Protocol})
	if p.gather {
		return append(columns, p.gathered(s.Endpoints)...)
	}
	columns = append(columns, [2]string{"ADDRESS", s.Address}, [2]string{"TARGETPORT", strconv.Itoa(int(s.TargetPort))}, [2]string{"STATE", string(s.State)}, [2]string{"SINCE", age(s.Since)})
	if p.form != commandline.Wide {
		return columns
	}
	target := ""
	if s.TargetRef != nil {
		target = s.TargetRef.Kind + "/" + s.TargetRef.Name
	}
	return append(columns, [2]string{"ZONE", s.Zone}, [2]string{"NODE", s.Node}, [2]string{"TARGET", target},
		[2]string{"TYPE", s.Type}, [2]string{"APPPROTOCOL", s.AppProtocol}, [2]string{"NAME", o.Metadata.Name})
}

// gathered are the columns of a port with all its endpoints.
func (p *printer) gathered(endpoints []views.Endpoint) [][2]string {
	ready := 0
	var addresses []string
	for _, e := range endpoints {
		if e.State == views.Ready {
			ready++
			addresses = append(addresses, e.Address+":"+strconv.Itoa(int(e.TargetPort)))
		}
	}
	if more := len(addresses) - mostAddresses; more > 0 && p.form != commandline.Wide {
		addresses = append(addresses[:mostAddresses], fmt.Sprintf("+ %d more", more))
	}
	return [][2]string{{"READY", fmt.Sprintf("%d/%d", ready, len(endpoints))}, {"ENDPOINTS", strings.Join(addresses, ",")}}
}

// age is how long ago something was, as kubectl writes it.
func age(since *time.Time) string {
	if since == nil {
		return ""
	}
	return duration.HumanDuration(time.Since(*since))
}
