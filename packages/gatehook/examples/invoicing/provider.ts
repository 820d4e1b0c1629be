/** The provider of payments: the two calls of invoicing, and their HTTP requests. */

type Charge = { id: string; status: 'succeeded' | 'declined'; reason: string | null }
type NewCharge = { amount: number; currency: string; source: string }
/** The words of a step. A second call with the same key returns the first result. */
type Effect = { key: string; signal: AbortSignal; fetch: typeof fetch }
export interface Provider {
  charge(body: NewCharge, effect: Effect): Promise<Charge>
  refund(body: { charge: string; amount: number }, effect: Effect): Promise<{ id: string }>
}

/** Exceptions need no code of ours: the engine runs a step without a result again, with its key. */
export function httpProvider(url: string, secret: string | undefined): Provider {
  const post = async <T>(path: string, body: unknown, { key, signal, fetch }: Effect) => {
    if (!secret) throw new Error('PROVIDER_SECRET is not set.')
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': key,
        authorization: `Bearer ${secret}`,
      },
      body: JSON.stringify(body),
      signal,
    })
    if (!response.ok) throw new Error(`The provider answered ${response.status} to ${path}.`)
    return (await response.json()) as T
  }
  return {
    charge: (body, effect) => post('/charges', body, effect),
    refund: (body, effect) => post('/refunds', body, effect),
  }
}
