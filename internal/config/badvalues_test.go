package config_test

import "strings"

type badValue struct{ variable, value, want string }

// badValues holds values that are wrong whatever the other variables say, each
// with the one message it must make.
func badValues() []badValue {
	return append(badTypes(), badNames()...)
}

func badTypes() []badValue {
	return []badValue{
		{"SOURCE_KIND", "Static", "is not one of static, file, command, ionos or kubernetes; did you mean static?"},
		{"SOURCE_KIND", "consul", "is not one of static, file, command, ionos or kubernetes; choose one of them"},
		{"LOG_LEVEL", "warning", "is not one of debug, info, warn or error; did you mean warn?"},
		{"LOG_FORMAT", "JSON", "is not one of auto, text or json; did you mean json?"},
		{"HEALTH_CHECK_MODE", "htttp", "is not one of off, tcp, http or https; did you mean http?"},
		{"STORE_KIND", "clientgo", "is not one of memory, kubectl or client-go; did you mean client-go?"},
		{"SOURCE_POLL_INTERVAL", "30 s", "is not a duration; write 30s"},
		{"SOURCE_POLL_INTERVAL", "1d", "is not a duration; write a number with a unit, such as 500ms, 30s, 2m or 1h30m"},
		{"SOURCE_POLL_INTERVAL", "0", "is outside 100ms to 24h; write for example 30s"},
		{"SOURCE_POLL_INTERVAL", "-30s", "is outside 100ms to 24h; write for example 30s"},
		{"SOURCE_POLL_INTERVAL", "99999999999h", "is not a duration; write a number with a unit, such as 500ms, 30s, 2m or 1h30m"},
		{"SOURCE_TIMEOUT", "0s", "is outside 100ms to 1h; write for example 20s"},
		{"SOURCE_TIMEOUT", "61m", "is outside 100ms to 1h; write for example 20s"},
		{"HEALTH_CHECK_INTERVAL", "99ms", "is outside 100ms to 1h; write for example 2s"},
		{"HEALTH_CHECK_TIMEOUT", "0s", "is outside 10ms to 1h; write for example 1s"},
		{"DRAIN_PERIOD", "-1s", "is outside 0s to 24h; write for example 30s"},
		{"MAX_ENDPOINTS_PER_SLICE", "0", "is outside 1 to 1000; write for example 100"},
		{"MAX_ENDPOINTS_PER_SLICE", "1001", "is outside 1 to 1000; write for example 100"},
		{"MAX_ENDPOINTS_PER_SLICE", "1e2", "is not a whole number; write digits only"},
		{"MAX_ENDPOINTS_PER_SLICE", "99999999999999999999", "is outside 1 to 1000; write for example 100"},
		{"MAX_REMOVAL_PERCENT", "101", "is outside 0 to 100; write for example 50"},
		{"MAX_REMOVAL_PERCENT", "-1", "is outside 0 to 100; write for example 50"},
		{"EMPTY_RESULT_THRESHOLD", "-1", "is outside 0 to 1000000; write for example 10"},
		{"HEALTH_CHECK_MAX_SILENT_PERCENT", "0.5", "is not a whole number; write digits only"},
		{"HEALTH_CHECK_RISE", "0", "is outside 1 to 1000; write for example 2"},
		{"HEALTH_CHECK_FALL", "0", "is outside 1 to 1000; write for example 3"},
		{"HEALTH_CHECK_CONCURRENCY", "0", "is outside 1 to 65535; write for example 256"},
		{"IONOS_PRIVATE_LAN_ID", "0", "is outside 1 to 2147483647; write for example 2"},
		{"IONOS_PRIVATE_LAN_ID", "lan-2", "is not a whole number; write digits only"},
		{"TARGET_PORT", "0", "is outside 1 to 65535; write for example 8080"},
		{"TARGET_PORT", "-1", "is outside 1 to 65535; write for example 8080"},
		{"TARGET_PORT", "65536", "is outside 1 to 65535; write for example 8080"},
		{"TARGET_PORT", "http", "is not a whole number; write digits only"},
		{"TARGET_PORT", "tcp://10.0.0.1:80", "is set by Kubernetes for a Service named target; set enableServiceLinks: false in the Pod"},
		{"HEALTH_CHECK_PORT", "udp://10.0.0.1:53", "is set by Kubernetes for a Service named health-check; set enableServiceLinks: false in the Pod"},
		{"HEALTH_CHECK_PORT", "70000", "is outside 1 to 65535; write for example 8080"},
		{"DRY_RUN", "yes", "is neither true nor false; write true or false"},
		{"HEALTH_CHECK_FAIL_OPEN", "on", "is neither true nor false; write true or false"},
		{"ADMIN_ADDRESS", ":8080", "is not an IP address with a port; write 0.0.0.0:8080 for every address of this machine, or 127.0.0.1:8080"},
		{"ADMIN_ADDRESS", "localhost:8080", "is not an IP address with a port; write 127.0.0.1:8080"},
		{"METRICS_ADDRESS", "8081", "is not an IP address with a port; write for example 127.0.0.1:8080"},
		{"SECURED_SUBNET_CIDR", "10.0.0.0/8,", "has an empty entry; remove the comma, or add what is missing"},
		{"SECURED_SUBNET_CIDR", ",", "has an empty entry; remove the comma, or add what is missing"},
		{"SECURED_SUBNET_CIDR", "10.1.2.3/8", "10.1.2.3/8 has bits set after its prefix; write 10.0.0.0/8"},
		{"SECURED_SUBNET_CIDR", "10.0.0.1", "10.0.0.1 is an address, not a range; write 10.0.0.1/32"},
		{"SECURED_SUBNET_CIDR", "fd00::1/64", "fd00::1/64 has bits set after its prefix; write fd00::/64"},
		{"SECURED_SUBNET_CIDR", "::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104 is IPv4 written as IPv6; write the plain IPv4 range, for example 10.0.0.0/24"},
		{"SECURED_SUBNET_CIDR", "10.0.0.0/33", `"10.0.0.0/33" is not an address range; write for example 10.0.0.0/24`},
		{"SECURED_SUBNET_CIDR", "010.0.0.0/8", `"010.0.0.0/8" is not an address range; write for example 10.0.0.0/24`},
		{"SECURED_SUBNET_CIDR", "10.0.0.0/24 10.0.1.0/24", `"10.0.0.0/24 10.0.1.0/24" is not an address range; write for example 10.0.0.0/24`},
		{"HEALTH_CHECK_EXPECTED_STATUS", "ok", `"ok" is not an HTTP status from 100 to 599 or a range of them; write for example 200-399,404`},
	}
}

func badNames() []badValue {
	long := strings.Repeat("x", 64)
	return []badValue{
		{"STATIC_NODES", "10.0.0.1", `"10.0.0.1" is not name=address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "=10.0.0.1", `"=10.0.0.1" is not name=address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "a=", `"" of node a is not an IP address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "a=10.0.0.01", `"10.0.0.01" of node a is not an IP address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "a=10.0.0.0/24", `"10.0.0.0/24" of node a is not an IP address; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "a=fe80::1%eth0", "node a has an address with a zone, or IPv4 written as IPv6; write fe80::1"},
		{"STATIC_NODES", "a=::ffff:10.0.0.1", "node a has an address with a zone, or IPv4 written as IPv6; write 10.0.0.1"},
		{"STATIC_NODES", "a b=10.0.0.1", `the node name "a b" holds a space or a control character; write for example worker-1=10.0.0.11,worker-2=10.0.0.12`},
		{"STATIC_NODES", "a=10.0.0.1,a=10.0.0.2", "two nodes are called a; give each node a name of its own"},
		{"INVENTORY_COMMAND", "python3 x.py", `holds a space; it names the program only and no shell runs; write "python3" and set INVENTORY_COMMAND_ARGS to "x.py"; for a path with spaces, make a link`},
		{"INVENTORY_COMMAND_ENV", "A=1", `"A=1" is not the name of a variable; write names only, for example AWS_PROFILE,LANG`},
		{"SECURED_NODE_SELECTOR", "pool=(", "is not a label selector; write for example pool=web,tier!=edge"},
		{"IONOS_API_URL", "ftp://api.ionos.com", "has a scheme other than https and http; write for example https://api.ionos.com"},
		{"IONOS_API_URL", "https://", "is not a URL; write for example https://api.ionos.com"},
		{"IONOS_API_URL", "https://api.ionos.com?x=1", "holds more than scheme, host and path; write for example https://api.ionos.com"},
		{"IONOS_DATACENTER_ID", "a/b", "is not an identifier; copy the UUID from the IONOS console"},
		{"TARGET_NAMESPACE", "Prod_1", "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example prod-1"},
		{"TARGET_NAMESPACE", "___", "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example web"},
		{"TARGET_SERVICE_NAME", "web.prod", "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example web-prod"},
		{"TARGET_SERVICE_NAME", long, "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"TARGET_ENDPOINTSLICE_NAME", "-web", "is not a DNS name (at most 253 of a-z, 0-9, - and ., a letter or digit at both ends of each part); write for example web"},
		{"TARGET_MANAGED_BY", "example.com/me", "is not a label value (at most 63 of letters, digits, -, _ and ., a letter or digit at both ends); write for example example-com-me"},
		{"TARGET_MANAGED_BY", long, "is not a label value (at most 63 of letters, digits, -, _ and ., a letter or digit at both ends); write for example xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"TARGET_MANAGED_BY", "controller", "is the name of another controller, which would fight over the slices; remove it, or choose a name of your own"},
		{"TARGET_MANAGED_BY", "endpointslice-controller.k8s.io", "is the name of another controller, which would fight over the slices; remove it, or choose a name of your own"},
		{"TARGET_MANAGED_BY", "endpointslicemirroring-controller.k8s.io", "is the name of another controller, which would fight over the slices; remove it, or choose a name of your own"},
		{"TARGET_PORTS", "8080", `"8080" has no name; write for example http=8080,dns=53/UDP, or set TARGET_PORT alone to take the name from the Service`},
		{"TARGET_PORTS", "=8080", `"=8080" has no name; write for example http=8080,dns=53/UDP, or set TARGET_PORT alone to take the name from the Service`},
		{"TARGET_PORTS", "HTTP=8080", `the port name "HTTP" is not a DNS label; write for example http=8080,dns=53/UDP`},
		{"TARGET_PORTS", "http=8080/quic", "port http has an unknown protocol; write TCP, UDP or SCTP"},
		{"TARGET_PORTS", "a=80,a=81", "two ports are called a; give each the name of its Service port"},
		{"TARGET_PORTS", "a=80,b=80/tcp", "a and b are both 80/TCP; remove one of them"},
		{"LEADER_ELECTION_NAMESPACE", "a.b", "is not a DNS label (at most 63 of a-z, 0-9 and -, a letter or digit at both ends); write for example a-b"},
		{"LEADER_ELECTION_NAME", "a/b", "is not a DNS name (at most 253 of a-z, 0-9, - and ., a letter or digit at both ends of each part); write for example a-b"},
	}
}

type contradiction struct {
	name string
	env  env
	want string
}

// contradictions holds environments whose variables do not go together.
func contradictions() []contradiction {
	return []contradiction{
		{"static without nodes", env{"STATIC_NODES": "-"},
			"STATIC_NODES: is required with SOURCE_KIND=static (the default) and not set; set it, for example to worker-1=10.0.0.11,worker-2=10.0.0.12"},
		{"static by name without nodes", env{"STATIC_NODES": "-", "SOURCE_KIND": "static"},
			"STATIC_NODES: is required with SOURCE_KIND=static and not set; set it, for example to worker-1=10.0.0.11,worker-2=10.0.0.12"},
		{"file without a path", env{"SOURCE_KIND": "file"},
			"INVENTORY_FILE_PATH: is required with SOURCE_KIND=file and not set; set it, for example to /etc/inventory/inventory.json"},
		{"command without a program", env{"SOURCE_KIND": "command"},
			"INVENTORY_COMMAND: is required with SOURCE_KIND=command and not set; set it, for example to /scripts/render_inventory.py"},
		{"no subnet", env{"SECURED_SUBNET_CIDR": "-"},
			"SECURED_SUBNET_CIDR: is required and not set; set it, for example to 10.0.0.0/24"},
		{"no service", env{"TARGET_SERVICE_NAME": "-"},
			"TARGET_SERVICE_NAME: is required and not set; set it, for example to web"},
		{"no port", env{"TARGET_PORT": "-"},
			"TARGET_PORT: is required and not set; set it to the port of the backends, for example 8080, or set TARGET_PORTS"},
		{"two kinds of ports", env{"TARGET_PORTS": "http=80"},
			`TARGET_PORT="8080": and TARGET_PORTS are both set; remove one of them`},
		{"UDP alone cannot be checked", env{"TARGET_PORT": "-", "TARGET_PORTS": "dns=53/UDP"},
			"HEALTH_CHECK_PORT: is required, because a health check needs a TCP port and TARGET_PORTS has none; set it to a TCP port of the backends, or set HEALTH_CHECK_MODE=off"},
		{"several TCP ports", env{"TARGET_PORT": "-", "TARGET_PORTS": "a=80,b=81,dns=53/UDP"},
			"HEALTH_CHECK_PORT: is required, because TARGET_PORTS has several TCP ports; set it to 80 (a) or 81 (b)"},
		{"slice name without room", env{"TARGET_ENDPOINTSLICE_NAME": strings.Repeat("x", 244)},
			`TARGET_ENDPOINTSLICE_NAME="` + strings.Repeat("x", 120) + `"... (244 bytes): is longer than 243 characters, which leaves no room for the suffix of further slices; choose a shorter name`},
		{"time-out longer than the interval", env{"HEALTH_CHECK_INTERVAL": "1s", "HEALTH_CHECK_TIMEOUT": "2s"},
			`HEALTH_CHECK_TIMEOUT="2s": is longer than HEALTH_CHECK_INTERVAL (1s); write at most 1s`},
		{"path without a mode", env{"HEALTH_CHECK_PATH": "/healthz"},
			`HEALTH_CHECK_PATH="/healthz": has no effect, because HEALTH_CHECK_MODE is not set and tcp by default; set HEALTH_CHECK_MODE to http or https`},
		{"path without its slash", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_PATH": "healthz"},
			`HEALTH_CHECK_PATH="healthz": does not begin with /; write /healthz`},
		{"path that is a URL", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_PATH": "http://x/"},
			`HEALTH_CHECK_PATH="http://x/": does not begin with /; write for example /healthz`},
		{"path with a fragment", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_PATH": "/a#b"},
			`HEALTH_CHECK_PATH="/a#b": holds a space or a fragment; write a path as it stands in a request, with %20 for a space`},
		{"path with a wrong escape", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_PATH": "/%zz"},
			`HEALTH_CHECK_PATH="/%zz": is not the path of a URL; write for example /healthz`},
		{"host with a port", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_HOST": "web:8080"},
			`HEALTH_CHECK_HOST="web:8080": is not a host name or IP address; write web; HEALTH_CHECK_PORT sets the port`},
		{"host with a space", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_HOST": "a b"},
			`HEALTH_CHECK_HOST="a b": is not a host name or IP address; write for example web.example.com`},
		{"status out of range", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_EXPECTED_STATUS": "200,600"},
			`HEALTH_CHECK_EXPECTED_STATUS="200,600": "600" is not an HTTP status from 100 to 599 or a range of them; write for example 200-399,404`},
		{"status range upside down", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_EXPECTED_STATUS": "399-200"},
			`HEALTH_CHECK_EXPECTED_STATUS="399-200": 399-200 ends before it begins; write 200-399`},
		{"TLS without https", env{"HEALTH_CHECK_TLS_SERVER_NAME": "web"},
			`HEALTH_CHECK_TLS_SERVER_NAME="web": has no effect with HEALTH_CHECK_MODE=tcp; set HEALTH_CHECK_MODE=https, or remove it`},
		{"insecure TLS with http", env{"HEALTH_CHECK_MODE": "http", "HEALTH_CHECK_TLS_INSECURE": "true"},
			`HEALTH_CHECK_TLS_INSECURE="true": has no effect with HEALTH_CHECK_MODE=http; set HEALTH_CHECK_MODE=https, or remove it`},
		{"authorities that nobody uses", env{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_INSECURE": "true", "HEALTH_CHECK_TLS_CA_FILE": "/x"},
			`HEALTH_CHECK_TLS_INSECURE="true": contradicts HEALTH_CHECK_TLS_CA_FILE; remove one of them`},
		{"authorities that are missing", env{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_CA_FILE": "testdata/missing.pem"},
			`HEALTH_CHECK_TLS_CA_FILE="testdata/missing.pem": does not name a file with certificates: no such file or directory; name a PEM file that this process may read`},
		{"authorities that are none", env{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_CA_FILE": "badvalues_test.go"},
			`HEALTH_CHECK_TLS_CA_FILE="badvalues_test.go": does not name a file with certificates: holds no certificate in PEM form; name a PEM file that this process may read`},
		{"authorities that are a folder", env{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_CA_FILE": "testdata"},
			`HEALTH_CHECK_TLS_CA_FILE="testdata": does not name a file with certificates: no such file or directory; name a PEM file that this process may read`},
	}
}
