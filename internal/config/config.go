package config

import "slices"

// Config is the whole configuration. Load is the only way to get a valid one.
type Config struct {
	Source    Source
	Documents Documents
	Static    Static
	File      File
	Command   Command
	Secured   Secured
	IONOS     IONOS
	Target    Target
	Health    Health
	Guard     Guard
	Store     Store
	Leader    Leader
	Listen    Listen
	Log       Log
	Run       Run

	// origins says for each variable that is not at its default where its
	// value comes from.
	origins map[string]Origin
	// warnings are about variables that have no effect.
	warnings Mistakes
}

// Warnings returns the variables that look like ours and are not, but may well
// be another program's, in alphabetical order.
func (c Config) Warnings() []Mistake { return slices.Clone(c.warnings) }

// section is a group of variables in the reference.
type section struct {
	title string
	// fields points to a struct of Config.
	fields         any
	intro, example string
}

// sections lists the parts of the configuration in the order of the reference.
// Loading, showing and documenting all follow this one list.
func (c *Config) sections() []section {
	return []section{
		{"Source", &c.Source,
			"Where the nodes of the remote cluster come from, and how often they are read.",
			"SOURCE_KIND=file\nINVENTORY_FILE_PATH=/etc/inventory/inventory.json\nSOURCE_POLL_INTERVAL=10s"},
		{"Documents", &c.Documents,
			"Many Services from many remote clusters, as [documents](documents.md) in mounted files.",
			"DOCUMENTS_DIR=/etc/endpoints/documents\nCREDENTIALS_DIR=/etc/endpoints/credentials"},
		{"Source: static", &c.Static,
			"A fixed list of nodes, all ready workers, for `SOURCE_KIND=static`.",
			"STATIC_NODES=worker-1=10.0.0.11,worker-2=10.0.0.12"},
		{"Source: file", &c.File,
			"A JSON inventory that something else keeps up to date, for `SOURCE_KIND=file`.",
			"INVENTORY_FILE_PATH=/etc/inventory/inventory.json"},
		{"Source: command", &c.Command,
			"A program that prints the JSON inventory, for `SOURCE_KIND=command`. It runs once for every read, without a shell. `scripts/render_inventory.py` and the toolbox image, which has it, are [compatible with the original](../how-to/from-the-original.md), not recommended: `SOURCE_KIND=ionos` does the same inside the daemon.",
			"INVENTORY_COMMAND=python3\nINVENTORY_COMMAND_ARGS=\"/etc/inventory/list.py --pool 'web workers'\""},
		{"Remote cluster", &c.Secured,
			"The cluster that holds the nodes.",
			"SECURED_SUBNET_CIDR=10.0.0.0/24,fd00:10::/64"},
		{"IONOS Cloud", &c.IONOS,
			"Access to the IONOS Cloud API, for `SOURCE_KIND=ionos` and for inventory commands. Give either a token, or a user name and a password.",
			"IONOS_TOKEN_FILE=/etc/ionos/token\nIONOS_DATACENTER_ID=0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e\nIONOS_PRIVATE_LAN_ID=2"},
		{"Target", &c.Target,
			"The Service of the local cluster, and the slices that are kept for it.",
			"TARGET_NAMESPACE=default\nTARGET_SERVICE_NAME=web\nTARGET_PORT=8080"},
		{"Health check", &c.Health,
			"How endpoints are checked. An endpoint whose last result contradicts its state is checked every tenth of the interval, but at most every 100 ms.",
			"HEALTH_CHECK_MODE=http\nHEALTH_CHECK_PATH=/healthz"},
		{"Guard", &c.Guard,
			"How much an inventory, or a daemon that is cut off from the endpoints, may take away.",
			"MAX_REMOVAL_PERCENT=30\nDRAIN_PERIOD=1m"},
		{"Store", &c.Store,
			"Where the slices are written. `STORE_KIND=kubectl` is [compatible with the original](../how-to/from-the-original.md), not recommended.",
			"STORE_KIND=client-go"},
		{"Leader election", &c.Leader,
			"For more than one replica: only the holder of the lease reads, checks and writes. It is renewed every 2 s and expires after 15 s; the rights and what happens when a replica fails are in [run two replicas](../how-to/run-two-replicas.md).",
			"STORE_KIND=client-go\nLEADER_ELECTION=true"},
		{"Addresses to listen on", &c.Listen,
			"Two listeners, so that the status page can stay private while probes and metrics are reachable.",
			"METRICS_ADDRESS=0.0.0.0:8081"},
		{"Log", &c.Log,
			"What is logged to standard error, and how.",
			"LOG_LEVEL=debug\nLOG_FORMAT=json"},
		{"Run", &c.Run,
			"What the program may do.",
			"DRY_RUN=true"},
	}
}
