/** Documents of the network, for modules that open no connections themselves. Types only. */

interface FetchedDocument {
  /** The parsed JSON. */
  readonly value: unknown
  /** How long HTTP allows a shared cache to reuse it, in milliseconds. */
  readonly lifetimeMs: number
}

/** Fetches a JSON document of at most `maxBytes`. Throws an error whose message is for the log. */
export type FetchDocument = (url: string, maxBytes: number) => Promise<FetchedDocument>
