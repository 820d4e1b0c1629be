/** `filler.ts DATABASE RECEIVER REGISTRATIONS EVENTS`: fills a database in a separate process. */
import { fill } from './fill.ts'

const [databaseUrl, receiver, registrations, events] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
]
await fill({
  databaseUrl,
  receiver,
  registrations: Number(registrations),
  events: Number(events),
})
