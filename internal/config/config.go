package config

// Config is the whole configuration. Load is the only way to get a valid one.
type Config struct {
	Source  Source
	Static  Static
	File    File
	Command Command
	Secured Secured
	IONOS   IONOS
	Target  Target
	Health  Health
	Guard   Guard
	Store   Store
	Leader  Leader
	Listen  Listen
	Log     Log
	Run     Run

	// origins says for each variable that is not at its default where its
	// value comes from.
	origins map[string]Origin
}

// section is a group of variables in the reference.
type section struct {
	title, intro, example string
	// fields points to a struct of Config.
	fields any
}

// sections lists the parts of the configuration in the order of the reference.
// Loading, showing and documenting all follow this one list.
func (c *Config) sections() []section {
	return []section{
		{
			title:   "Source",
			intro:   "Where the nodes of the remote cluster come from, and how often they are read.",
			example: "SOURCE_KIND=file\nSOURCE_POLL_INTERVAL=10s",
			fields:  &c.Source,
		},
		{
			title:   "Source: static",
			intro:   "A fixed list of nodes, all ready workers, for `SOURCE_KIND=static`.",
			example: "STATIC_NODES=worker-1=10.0.0.11,worker-2=10.0.0.12",
			fields:  &c.Static,
		},
		{
			title:   "Source: file",
			intro:   "A JSON inventory that something else keeps up to date, for `SOURCE_KIND=file`.",
			example: "INVENTORY_FILE_PATH=/etc/inventory/inventory.json",
			fields:  &c.File,
		},
		{
			title:   "Source: command",
			intro:   "A program that prints the JSON inventory, for `SOURCE_KIND=command`. It runs once for every read, without a shell.",
			example: "INVENTORY_COMMAND=python3\nINVENTORY_COMMAND_ARGS=/scripts/render_inventory.py --pool 'web workers'",
			fields:  &c.Command,
		},
		{
			title:   "Remote cluster",
			intro:   "The cluster that holds the backends.",
			example: "SECURED_SUBNET_CIDR=10.0.0.0/24,fd00:10::/64",
			fields:  &c.Secured,
		},
		{
			title:   "IONOS Cloud",
			intro:   "Access to the IONOS Cloud API, for `SOURCE_KIND=ionos` and for inventory commands. Give either a token, or a user name and a password.",
			example: "IONOS_TOKEN_FILE=/etc/ionos/token\nIONOS_DATACENTER_ID=0b5f4d1c-7a0e-4d5b-9f58-3f1f2b6c7d8e\nIONOS_PRIVATE_LAN_ID=2",
			fields:  &c.IONOS,
		},
		{
			title:   "Target",
			intro:   "The Service of the local cluster, and the slices that are kept for it.",
			example: "TARGET_NAMESPACE=default\nTARGET_SERVICE_NAME=web\nTARGET_PORT=8080",
			fields:  &c.Target,
		},
		{
			title:   "Health check",
			intro:   "How a backend is checked. A member whose last result contradicts its state is checked every tenth of the interval, but at most every 100 ms.",
			example: "HEALTH_CHECK_MODE=http\nHEALTH_CHECK_PATH=/healthz",
			fields:  &c.Health,
		},
		{
			title:   "Guard",
			intro:   "How much one read, or a prober that went blind, may take away.",
			example: "MAX_REMOVAL_PERCENT=30\nDRAIN_PERIOD=1m",
			fields:  &c.Guard,
		},
		{
			title:   "Store",
			intro:   "Where the slices are written.",
			example: "STORE_KIND=client-go",
			fields:  &c.Store,
		},
		{
			title:   "Leader election",
			intro:   "For more than one replica: only the holder of the lease reads, probes and writes.",
			example: "LEADER_ELECTION_NAMESPACE=default",
			fields:  &c.Leader,
		},
		{
			title:   "Addresses to listen on",
			intro:   "Two listeners, so that the status page can stay private while probes and metrics are reachable.",
			example: "METRICS_ADDRESS=0.0.0.0:8081",
			fields:  &c.Listen,
		},
		{
			title:   "Log",
			intro:   "What is logged to standard error, and how.",
			example: "LOG_LEVEL=debug\nLOG_FORMAT=json",
			fields:  &c.Log,
		},
		{
			title:   "Run",
			intro:   "What the program may do.",
			example: "DRY_RUN=true",
			fields:  &c.Run,
		},
	}
}
