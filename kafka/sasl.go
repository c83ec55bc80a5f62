package kafka

// saslTokens follows an authentication that began with SaslHandshake version 0: the client's tokens then come with a length
// prefix and nothing else, until the first request that has a header, and the server answers each with a token (KIP-43,
// and KIP-152, which ended this). Tokens are counted only. From version 1 on they travel in SaslAuthenticate requests,
// whose bodies are never read.
type saslTokens struct {
	expected   bool // the next message of the client may be a token
	unanswered int32
}
