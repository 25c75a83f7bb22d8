// Command poller is a simple polling loop that the daemon is compared with. Every
// five seconds it asks each backend once, all at the same time, for at most three
// seconds. If the set of backends that answered has changed, it gives the new set to
// kubectl. One failure takes a backend out, one answer takes it in.
//
// It takes nodes and target from the variables that the daemon reads: STATIC_NODES,
// TARGET_NAMESPACE, TARGET_SERVICE_NAME, TARGET_PORT, KUBECTL_PATH and KUBECONFIG.
// Only a signal ends it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	interval = 5 * time.Second
	timeout  = 3 * time.Second
)

// verbs are how kubectl writes the slice for the first time and later.
const (
	first = "create"
	later = "replace"
)

func main() {
	nodes, err := parse(os.Getenv("STATIC_NODES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "poller:", err)
		os.Exit(2)
	}
	port, err := strconv.ParseUint(os.Getenv("TARGET_PORT"), 10, 16)
	if err != nil {
		fmt.Fprintln(os.Stderr, "poller: TARGET_PORT:", err)
		os.Exit(2)
	}
	var published []netip.Addr
	verb := first
	for ticker := time.NewTicker(interval); ; <-ticker.C {
		answering := ask(nodes, uint16(port))
		if verb == later && slices.Equal(answering, published) {
			continue
		}
		if err := write(verb, answering, int32(port)); err != nil {
			fmt.Fprintln(os.Stderr, "poller:", err)
			continue
		}
		verb, published = later, answering
	}
}

// parse reads name=ip,name=ip.
func parse(text string) ([]netip.Addr, error) {
	var nodes []netip.Addr
	for _, entry := range strings.Split(text, ",") {
		_, ip, _ := strings.Cut(entry, "=")
		address, err := netip.ParseAddr(ip)
		if err != nil {
			return nil, fmt.Errorf("STATIC_NODES: %w", err)
		}
		nodes = append(nodes, address)
	}
	return nodes, nil
}

// ask returns the nodes that accept a connection.
func ask(nodes []netip.Addr, port uint16) []netip.Addr {
	passed := make([]bool, len(nodes))
	var asking sync.WaitGroup
	for i, node := range nodes {
		asking.Go(func() {
			conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(node, port).String(), timeout)
			if err == nil {
				passed[i] = true
				_ = conn.Close() // nothing was sent
			}
		})
	}
	asking.Wait()
	var answering []netip.Addr
	for i, node := range nodes {
		if passed[i] {
			answering = append(answering, node)
		}
	}
	return answering
}

// write hands the slice to kubectl.
func write(verb string, answering []netip.Addr, port int32) error {
	service := os.Getenv("TARGET_SERVICE_NAME")
	slice := discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			Name: service + "-poller", Namespace: os.Getenv("TARGET_NAMESPACE"),
			Labels: map[string]string{discoveryv1.LabelServiceName: service},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, address := range answering {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address.String()}, Conditions: discoveryv1.EndpointConditions{
				Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false),
			},
		})
	}
	text, err := json.Marshal(slice)
	if err != nil {
		return err
	}
	kubectl := exec.Command(os.Getenv("KUBECTL_PATH"), verb, "-f", "-")
	kubectl.Stdin = bytes.NewReader(text)
	if output, err := kubectl.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", verb, err, bytes.TrimSpace(output))
	}
	return nil
}
