/** A server that speaks SMTP, for tests of mail. */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'

/** Starts a server that speaks as much SMTP as a mail needs; records the lines it receives. */
export async function openSmtpServer(t: TestContext, replyToRecipient = '250 ok') {
  const received: string[] = []
  const serve = (socket: Socket) => {
    let isData = false
    let rest = ''
    socket.setEncoding('utf8')
    socket.on('error', () => undefined)
    socket.write('220 test\r\n')
    socket.on('data', (chunk) => {
      const lines = (rest + chunk).split('\r\n')
      rest = lines.pop()!
      for (const line of lines.filter(Boolean)) {
        received.push(line)
        if (isData) {
          if (line !== '.') continue
          isData = false
          socket.write('250 queued\r\n')
        } else if (/^EHLO/.test(line)) socket.write('250 test\r\n')
        else if (/^RCPT/.test(line)) socket.write(`${replyToRecipient}\r\n`)
        else if (line === 'DATA') {
          isData = true
          socket.write('354 go on\r\n')
        } else socket.write('250 ok\r\n')
      }
    })
  }
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => server.close())
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
