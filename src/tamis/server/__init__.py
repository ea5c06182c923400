"""A broker over HTTP: API, delivery and console.

broker = Broker.open("sqlite:///broker.db")
with broker, running(broker, ServerSettings(port=0)) as server:
    print(server.address)
"""
