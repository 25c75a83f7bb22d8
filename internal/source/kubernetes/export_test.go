package kubernetes

// Slim is slim.
var Slim = slim
