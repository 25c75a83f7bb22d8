package envoyconfig

import (
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	connectionsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	heapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// What a proxy does as its memory fills, and from which share of it on. A proxy that
// refuses requests for a while loses fewer than one that the kernel ends.
const (
	shrinkAt  = 0.90
	closingAt = 0.92
	refuseAt  = 0.95
	lookEvery = 250 * time.Millisecond
)

// overload bounds what clients can take from the proxy, nil without bounds.
func (b Bootstrap) overload() *overloadv3.OverloadManager {
	manager := &overloadv3.OverloadManager{RefreshInterval: durationpb.New(lookEvery)}
	if b.MaxConnections > 0 {
		manager.ResourceMonitors = append(manager.ResourceMonitors,
			monitor("envoy.resource_monitors.global_downstream_max_connections", &connectionsv3.DownstreamConnectionsConfig{MaxActiveDownstreamConnections: int64(b.MaxConnections)}))
	}
	if b.MaxHeapBytes > 0 {
		heap := monitor("envoy.resource_monitors.fixed_heap", &heapv3.FixedHeapConfig{MaxHeapSizeBytes: b.MaxHeapBytes})
		manager.ResourceMonitors = append(manager.ResourceMonitors, heap)
		for _, one := range []struct {
			action string
			at     float64
		}{{"shrink_heap", shrinkAt}, {"disable_http_keepalive", closingAt}, {"stop_accepting_requests", refuseAt}} {
			manager.Actions = append(manager.Actions, &overloadv3.OverloadAction{
				Name: "envoy.overload_actions." + one.action,
				Triggers: []*overloadv3.Trigger{{
					Name: heap.GetName(), TriggerOneof: &overloadv3.Trigger_Threshold{Threshold: &overloadv3.ThresholdTrigger{Value: one.at}},
				}},
			})
		}
	}
	if len(manager.GetResourceMonitors()) == 0 {
		return nil
	}
	return manager
}

func monitor(name string, config proto.Message) *overloadv3.ResourceMonitor {
	return &overloadv3.ResourceMonitor{Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: packed(config)}}
}
