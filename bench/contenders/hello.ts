/** Fastify with one route that answers a constant: what the framework alone can do. */
import Fastify from 'fastify'
import { announce } from './announce.ts'

const app = Fastify({ logger: false })
app.get('/', () => ({ hello: 'world' }))
await announce(app)
