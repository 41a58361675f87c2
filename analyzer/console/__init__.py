"""The analyst's console: pages to run collections from, in a process of its own that has no key.

    serve       the process
    app         requests to pages: who may ask, and what is answered
    sessions    who is logged in, and what a form carries so that no other site can send it
    remote      what the serving process is asked, over its socket
    forms       what the form of a new collection holds
    views       what pages show
    *.html, console.css, console.js, icon.svg

All that is durable, secret or reaches a shuffler is the serving process's (`analyzer.console_service`).
"""
