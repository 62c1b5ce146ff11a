"""Headers and blocks between peers: finding, fetching, serving and announcing them. Never: transactions, sockets."""
