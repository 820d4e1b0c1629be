import { receiver, sign, type WebhookEvent } from 'gatehook-receiver'

const secret = process.env.WEBHOOK_SECRET! // returned once, at registration

const handle = receiver({
  secrets: [secret], // a TypeError without one; during a rotation: [newSecret, oldSecret]
  onEvent: async (event: WebhookEvent<{ id: number; status: string }>) => {
    console.log(`${event.type}: order ${event.data.object.id} is ${event.data.object.status}`)
  },
})

// In a test, sign a body as Gatehook does, and call the handler:
const body = JSON.stringify({
  id: 'evt_1',
  type: 'order.paid',
  created: 1767225600,
  livemode: false,
  data: { object: { id: 7, status: 'paid' } },
})
const headers = await sign({ body, secret })
const request = () => new Request('https://you.example/hooks', { method: 'POST', headers, body })

for (const attempt of [1, 2]) {
  const response = await handle(request())
  console.log(`attempt ${attempt}: ${response.status} ${await response.text()}`)
}
