/** How a peer says where it listens and how it ends, as `contenders/announce.ts` does for ours. */

/**
 * @param {string} url
 * @param {() => Promise<unknown>} close
 */
export function announce(url, close) {
  process.once('SIGTERM', async () => {
    await close()
    process.exit(0)
  })
  process.stdout.write(`${JSON.stringify({ url })}\n`)
}

/** The value behind `--name` on the command line. */
export const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1]
