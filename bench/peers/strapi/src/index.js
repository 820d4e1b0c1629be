/** Nothing of its own happens at start. */
module.exports = { register() {}, bootstrap() {} }
