/** Prints the URL of a peer and handles SIGTERM, as `contenders/announce.ts` does. */

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

/** Returns the value of `--name` on the command line. */
export const option = (name) => process.argv[process.argv.indexOf(`--${name}`) + 1]
