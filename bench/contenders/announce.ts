/** Start and stop of a contender: any free port, its URL as a JSON line, SIGTERM. */
import type { FastifyInstance } from 'fastify'

/** Listens on loopback and prints `{"url":…}`. After SIGTERM and draining, calls `close`. */
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
