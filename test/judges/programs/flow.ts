/** The calls of every client in TypeScript, whose types the adapters verify. */
export interface Row {
  readonly id: number
  readonly caption: string
}

export interface Adapter {
  create(body: { caption: string; email: string }): Promise<Row>
  page(query: { limit: number; cursor?: string; email: string }): Promise<{
    data: readonly Row[]
    next_cursor?: string | null
  }>
  patch(id: number, body: { caption: string }): Promise<Row>
  remove(id: number): Promise<unknown>
  /** Returns the code of the failure. */
  failure(id: number): Promise<string | undefined>
}

declare const process: { env: Record<string, string> }
export const URL = process.env.URL!
export const KEY = process.env.KEY!

const requireThat = (isTrue: boolean, value: unknown) => {
  if (!isTrue) throw new Error(JSON.stringify(value))
}

export async function run(name: string, adapter: Adapter): Promise<void> {
  const email = (n: number) => `${name}${n}@example.com`
  const rows = [0, 1, 2].map((n) => adapter.create({ caption: 'Ada', email: email(n) }))
  const created = (await Promise.all(rows)).map(({ id }) => id).sort((a, b) => a - b)
  const ids: number[] = []
  let cursor: string | undefined
  do {
    const page = await adapter.page({ limit: 2, email: name, ...(cursor && { cursor }) })
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  requireThat(JSON.stringify(ids) === JSON.stringify(created), ids)
  const first = ids[0]!
  requireThat((await adapter.patch(first, { caption: 'Grace' })).caption === 'Grace', first)
  await adapter.remove(first)
  requireThat((await adapter.failure(first)) === 'not_found', first)
  console.log('ok')
}
