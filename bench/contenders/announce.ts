/** Start and end of each contender of ours: any free port, its URL as a JSON line, SIGTERM ends. */
import type { FastifyInstance } from 'fastify'

/** Listens on loopback, prints `{"url":…}`; `close` runs once requests in flight are answered. */
export async function announce(app: FastifyInstance, close = () => {}): Promise<string> {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  process.once('SIGTERM', async () => {
    await app.close()
    close()
    process.exit(0)
  })
  process.stdout.write(`${JSON.stringify({ url })}\n`)
  return url
}
